/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_queue.h: a queue for devices whose own calls block. Each queue has a
 * thread that runs its commands in order and completes them; queue_execute
 * copies them and returns at once. In C, or C++, with POSIX threads:
 *
 *   static bp_status_t run(void *context, const bp_header_t *command,
 *                          bp_string_t *out_message);
 *
 *   *out_queue = bp_thread_queue_create(host, run, device);    queue_create
 *   .queue_destroy = bp_thread_queue_destroy,                  in the table
 *   .queue_execute = bp_thread_queue_execute,
 *
 * It is no part of the ABI: all is inline, over the other headers.
 */
#ifndef BACKPLANE_THREAD_QUEUE_H
#define BACKPLANE_THREAD_QUEUE_H

#include "helpers.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one command to its end, on the thread of the queue. The command is a
 * copy (bp_commands_copy). A failure ends its call of queue_execute, with the
 * message, which lives at least until `run` is called again. */
typedef bp_status_t (*bp_thread_queue_run_t)(void *context,
                                             const bp_header_t *command,
                                             bp_string_t *out_message);

/* What one call of queue_execute asks for. */
typedef struct bp_thread_batch_t_ {
  struct bp_thread_batch_t_ *next;
  bp_completion_t completion;
  bp_header_t **commands;
  uint64_t count;
} bp_thread_batch_t_;

typedef struct bp_thread_queue_t_ {
  const bp_host_t *host;
  bp_thread_queue_run_t run;
  void *context;
  pthread_t thread;
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t changed;
  bp_thread_batch_t_ *first, **last;
  int stops;
} bp_thread_queue_t_;

static inline void bp_thread_queue_run_(bp_thread_queue_t_ *queue,
                                        bp_thread_batch_t_ *batch) {
  bp_string_t message = {"", 0};
  bp_status_t status = BP_STATUS_OK;
  uint64_t i;
  for (i = 0; i < batch->count && status == BP_STATUS_OK; ++i)
    status = queue->run(queue->context, batch->commands[i], &message);
  batch->completion.done(batch->completion.context, status, message);
  free(batch->commands);
  free(batch);
}

static inline void *bp_thread_queue_main_(void *context) {
  bp_thread_queue_t_ *queue = (bp_thread_queue_t_ *)context;
  pthread_mutex_lock(&queue->mutex);
  while (!queue->stops || queue->first) {
    bp_thread_batch_t_ *batch = queue->first;
    if (!batch) {
      pthread_cond_wait(&queue->changed, &queue->mutex);
      continue;
    }
    queue->first = batch->next;
    if (!queue->first)
      queue->last = &queue->first;
    pthread_mutex_unlock(&queue->mutex);
    bp_thread_queue_run_(queue, batch);
    pthread_mutex_lock(&queue->mutex);
  }
  pthread_mutex_unlock(&queue->mutex);
  return NULL;
}

/* A queue and its thread; `host` stays valid while it lives. NULL: there is no
 * memory or no thread for it. */
static inline bp_queue_t *bp_thread_queue_create(const bp_host_t *host,
                                                 bp_thread_queue_run_t run,
                                                 void *context) {
  bp_thread_queue_t_ *queue = (bp_thread_queue_t_ *)calloc(1, sizeof(*queue));
  if (!queue)
    return NULL;
  queue->host = host;
  queue->run = run;
  queue->context = context;
  queue->last = &queue->first;
  pthread_mutex_init(&queue->mutex, NULL);
  pthread_cond_init(&queue->changed, NULL);
  if (pthread_create(&queue->thread, NULL, bp_thread_queue_main_, queue) != 0) {
    free(queue);
    return NULL;
  }
  return (bp_queue_t *)(void *)queue;
}

/* Waits for what is queued, and for the thread. */
static inline void bp_thread_queue_destroy(bp_device_t *device,
                                           bp_queue_t *handle) {
  bp_thread_queue_t_ *queue = (bp_thread_queue_t_ *)(void *)handle;
  (void)device;
  pthread_mutex_lock(&queue->mutex);
  queue->stops = 1;
  pthread_cond_signal(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  pthread_join(queue->thread, NULL);
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->mutex);
  free(queue);
}

/* The queue_execute of the driver. */
static inline bp_status_t
bp_thread_queue_execute(bp_queue_t *handle, const bp_header_t *const *commands,
                        uint64_t count, const bp_completion_t *completion,
                        bp_error_t *error) {
  bp_thread_queue_t_ *queue = (bp_thread_queue_t_ *)(void *)handle;
  bp_thread_batch_t_ *batch = (bp_thread_batch_t_ *)calloc(1, sizeof(*batch));
  if (batch)
    batch->commands = bp_commands_copy(commands, count);
  if (!batch || !batch->commands) {
    free(batch);
    return queue->host->error_set(
        queue->host->self, error, BP_STATUS_RESOURCE_EXHAUSTED,
        bp_text("there is no memory for the commands of a queue"));
  }
  batch->completion = *completion;
  batch->count = count;
  pthread_mutex_lock(&queue->mutex);
  *queue->last = batch;
  queue->last = &batch->next;
  pthread_cond_signal(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  return BP_STATUS_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_THREAD_QUEUE_H */

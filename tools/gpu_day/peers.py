# SPDX-License-Identifier: Apache-2.0
"""Times cuBLAS (torch.matmul), torch.compile, whose kernels are Triton's, and a plain product in
Triton, for the rows of a plan. Needs PyTorch with CUDA; prints JSON, with what was absent."""
import json
import pathlib
import sys

ROUNDS = 30


def recorded(torch, call):
    """The call as a graph, which replays its kernels without what the host does for them."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            call()
    return graph.replay


def milliseconds(torch, call):
    """The best of some rounds of its kernels, by events on the device."""
    for _ in range(3):
        call()
    replay = recorded(torch, call)
    best = float("inf")
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        replay()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end))
    return best


def triton_product(torch, triton, language):
    """The product of square bf16 matrices whose sides are multiples of 128."""
    @triton.jit
    def kernel(a, b, c, n, tile: language.constexpr, depth: language.constexpr):
        rows = language.program_id(0) * tile + language.arange(0, tile)
        columns = language.program_id(1) * tile + language.arange(0, tile)
        steps = language.arange(0, depth)
        total = language.zeros((tile, tile), dtype=language.float32)
        for k in range(0, n, depth):
            left = language.load(a + rows[:, None] * n + (k + steps)[None, :])
            right = language.load(b + (k + steps)[:, None] * n + columns[None, :])
            total = language.dot(left, right, total)
        language.store(c + rows[:, None] * n + columns[None, :], total.to(language.bfloat16))

    def call(a, b):
        n, tile = a.shape[0], 128
        c = torch.empty_like(a)
        kernel[(n // tile, n // tile)](a, b, c, n, tile=tile, depth=64, num_warps=8, num_stages=3)
        return c
    return call


def work_of(torch, row):
    """A function and its arguments, which compute what the row does."""
    make = torch.nn.functional
    draw = {"device": "cuda"}
    if row["kind"].startswith("matmul"):
        dtype = torch.bfloat16 if row["kind"] == "matmul" else torch.float32
        torch.backends.cuda.matmul.allow_tf32 = row["precision"] == "tf32"
        a, b = (torch.randn(row["sizes"][:2], dtype=dtype, **draw) for _ in range(2))
        return torch.matmul, (a, b)
    if row["kind"] == "attention":
        parts = [torch.randn(row["sizes"], dtype=torch.float16, **draw) for _ in range(3)]
        return make.scaled_dot_product_attention, parts
    x = torch.randn(row["sizes"], **draw)
    if row["kind"] == "softmax":
        return lambda v: torch.softmax(v, -1), (x,)
    if row["kind"] == "gelu":
        return lambda v: make.gelu(v, approximate="tanh"), (x,)
    scale = torch.randn(row["sizes"][-1:], **draw)
    return lambda v, s: make.layer_norm(v, v.shape[-1:], s), (x, scale)


def measure(torch, row):
    times, said = {}, []
    function, values = work_of(torch, row)
    systems = {"torch": function, "torch.compile": torch.compile(function)}
    try:
        import triton  # pylint: disable=import-outside-toplevel
        import triton.language as language  # pylint: disable=import-outside-toplevel
        if row["kind"] == "matmul" and row["sizes"][0] % 128 == 0:
            systems["triton"] = triton_product(torch, triton, language)
    except ImportError:
        said.append("Triton is not installed")
    for name, call in systems.items():
        try:
            is_cublas = name == "torch" and row["kind"].startswith("matmul")
            times["cuBLAS" if is_cublas else name] = milliseconds(
                torch, lambda call=call: call(*values))
        except Exception as error:  # pylint: disable=broad-exception-caught
            said.append(f"{name}: {error!s:.200}")
    return {"name": row["name"], "ms": times, "said": "; ".join(said)}


def run(plan):
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        return {"rows": [], "said": "PyTorch is not installed"}
    if not torch.cuda.is_available():
        return {"rows": [], "said": f"PyTorch {torch.__version__} finds no CUDA device"}
    rows = [measure(torch, row) for row in plan["timed"]]
    return {"rows": rows,
            "said": f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}"}


if __name__ == "__main__":
    json.dump(run(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))), sys.stdout)

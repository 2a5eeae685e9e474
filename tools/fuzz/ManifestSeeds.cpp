// SPDX-License-Identifier: Apache-2.0
#include "Seeds.h"

namespace backplane {

namespace {

/// With a library that is there.
std::string manifest(const std::string &members) {
  return R"({"format": 1, "name": "acme", "version": "1.10.0",
             "driver": "libacme.so", )" +
         members + "}";
}

std::vector<std::string> manifests() {
  return {
      R"({"format": 1, "name": "acme", "version": "1.0.0", "vendor": "Acme",
           "arch": "x86_64", "abi": {"major": 0, "minor_low": 1},
           "driver": "libacme.so", "compiler": "libacme.so",
           "cpu_features": ["avx2"]})",
      manifest(R"("arch": "arm", "abi": {"major": 0, "minor_low": 1})"),
      manifest(R"("abi": {"major": 0, "minor_low": 77})"),
      manifest(R"("abi": {"major": 3, "minor_low": 1})"),
      manifest(R"("abi": {"major": 0}, "sha256": {"driver": "00"})"),
      manifest(
          R"("abi": {"major": 0, "minor_low": 1}, "sha256": {"driver": ")" +
          std::string(64, 'a') + "\"}"),
      manifest(R"("abi": {"major": 0, "minor_low": 1}, "cpu_features": [1])"),
      manifest(R"("abi": {"major": 0, "minor_low": 1},
                   "cpu_features": ["sve"])")};
}

/// What passes, hashes, options and numbers of operations say, well and
/// wrongly.
std::vector<std::string> membersOfManifests() {
  const std::string abi =
      R"("abi": {"major": 0, "minor_low": 1}, "compiler": "libacme.so", )";
  auto passes = [&](const std::string &list, const std::string &more = "") {
    return manifest(abi + R"("passes": {"library": "libacme.so", "llvm": "22",
                              "list": [)" +
                    list + "]" + more + "}");
  };
  const std::string pass =
      R"({"name": "acme-a", "stage": "graph", "summary": "s"})";
  std::vector<std::string> texts = {
      passes(pass),
      passes(pass + "," + pass),
      passes("1"),
      passes(""),
      passes(R"({"name": "other-A", "stage": "graph", "summary": "s"})"),
      passes(pass, R"(, "more": 1)")};
  for (const char *member :
       {R"("passes": {"llvm": "22", "list": []})",
        R"("sha256": {"driver": "0", "kernels": "x"})",
        R"("conformance": {"multiply_adds": 9007199254740992})",
        R"("conformance": {"multiply_adds": -1})",
        R"("options": {"library": "a", "b": "c"})",
        R"("options": {"library": 1})", R"("kernels": "libacme.so")",
        R"("kernels": "../x")", R"("kernels": "/x")", R"("vendor": 1)",
        R"("abi": [{"major": 0, "minor_low": 1, "x": 1}])",
        R"("cpu_features": ["avx", "avx2"])"})
    texts.push_back(manifest(abi + member));
  texts.push_back(R"({"format": 2})"), texts.push_back("[");
  texts.push_back(R"({"format": 1, "name": "Acme", "version": "1"})");
  texts.push_back(
      R"({"format": 1, "name": "acme", "version": "1",
          "abi": {"major": 0, "minor_low": 1}, "compiler": "libacme.so",
          "passes": {"library": "libacme.so", "llvm": "22", "list": [)" +
      pass + "]}}");
  return texts;
}

} // namespace

std::vector<std::string> fuzz::manifestSeeds() {
  std::vector<std::string> texts = manifests();
  for (const std::string &text : membersOfManifests())
    texts.push_back(text);
  return texts;
}

} // namespace backplane

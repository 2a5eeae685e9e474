# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes a site of all pages, which tools/docs starts in the root of
the repository. docs/index.md is the navigation."""
project = "Backplane"
project_copyright = "the Backplane authors"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "backends/*/README.md",
                    "backends/*/*/README.md", "sdk/*/README.md",
                    "tools/*/README.md"]
exclude_patterns = ["build*", ".*"]
myst_heading_anchors = 4
# There is no lexer of MLIR; such text stays plain.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "alabaster"
html_theme_options = {"page_width": "72em", "fixed_sidebar": True}
html_copy_source = False
html_show_sphinx = False

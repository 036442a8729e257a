"""Sphinx without jupyter-book: the second road from the staged pages to the book.

It lies beside `_config.yml` in the tree that it builds, takes all settings from there, and adds what
jupyter-book would add. By hand: python -m sphinx -W -b html TREE PAGES
"""

from pathlib import Path

import yaml

config = yaml.safe_load((Path(__file__).parent / "_config.yml").read_text(encoding="utf-8"))
address, launch = config["repository"], config["launch_buttons"]

project, author, copyright = config["title"], config["author"], config["copyright"]
extensions = [
    "sphinx_togglebutton",
    "sphinx_copybutton",
    "myst_nb",
    "sphinx_external_toc",
    "sphinx_design",
    "sphinxcontrib.bibtex",
    *config["sphinx"]["extra_extensions"],
]
exclude_patterns = config["exclude_patterns"]
bibtex_bibfiles = config["bibtex_bibfiles"]
external_toc_path = "_toc.yml"
external_toc_exclude_missing = config["only_build_toc_files"]
myst_enable_extensions = config["parse"]["myst_enable_extensions"]
myst_url_schemes = config["parse"]["myst_url_schemes"]
nb_execution_mode = config["execute"]["execute_notebooks"]
nb_output_stderr = config["execute"]["stderr_output"]
pygments_style = "sphinx"
html_favicon = config["html"]["favicon"]
html_sourcelink_suffix = ""
html_theme = "sphinx_book_theme"
html_theme_options = {
    "search_bar_text": "Search this book...",
    "repository_url": address["url"],
    "repository_branch": address["branch"],
    "launch_buttons": {key: url for key, url in launch.items() if key.endswith("_url")},
    "use_repository_button": config["html"]["use_repository_button"],
    "use_issues_button": config["html"]["use_issues_button"],
    "extra_footer": config["html"]["extra_footer"],
}
html_theme_options |= config["sphinx"]["config"].pop("html_theme_options")
globals().update(config["sphinx"]["config"])

"""What no text for readers may have: roles, directives and targets, which only Sphinx reads.

Nor may a formula go on in a second quoted line, whose ``>`` JupyterLab takes for a part of it.
"""

import re

_MARKUP = re.compile(r"\{[a-z:]+\}`|^[ >#]*(?:`{3,}|:{3,})\{.*$|^[ >#]*\([\w-]+\)=$", re.MULTILINE)


def find_markup(text):
    quoted = re.findall("^ *>.*", text, re.MULTILINE)
    torn = [line for line in quoted if line.count("$$") % 2 or line.count("$") % 2]
    return _MARKUP.findall(text) + torn

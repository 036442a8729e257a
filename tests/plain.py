"""What no text for readers may have: roles, directives and targets, which only Sphinx reads."""

import re

_MARKUP = re.compile(r"\{[a-z:]+\}`|^[ >#]*(?:`{3,}|:{3,})\{.*$|^[ >#]*\([\w-]+\)=$", re.MULTILINE)


def find_markup(text):
    return _MARKUP.findall(text)

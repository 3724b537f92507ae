"""The tree of errors that the module draws is that of its classes, in their order."""

import re

from raptor_core import errors


def test_the_tree_that_is_drawn_is_that_of_the_classes():
    drawn, above = [], {}
    for line in (errors.__doc__ or "").splitlines():
        if named := re.search(r"\b\w+Error\b", line):
            depth = (named.start() - 4) // 4
            above[depth] = named[0]
            drawn.append((named[0], above.get(depth - 1, "Exception")))
    found = [
        (name, one.__bases__[0].__name__)
        for name, one in vars(errors).items()
        if isinstance(one, type)
    ]
    assert drawn == found

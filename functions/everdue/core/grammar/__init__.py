"""The grammar of an item: what a definition may say, and what is refused, in words its writer can act on."""

from everdue.core.grammar.attributes import ATTRIBUTES, TRIGGERS
from everdue.core.grammar.definition import Definition
from everdue.core.grammar.digest import digest
from everdue.core.grammar.parse import active_from, parse

__all__ = ["ATTRIBUTES", "TRIGGERS", "Definition", "active_from", "digest", "parse"]

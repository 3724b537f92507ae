"""Words whose full stop does not, or need not, end a sentence. Lower case, without last dot."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What follows belongs to the same sentence, whatever its case.
NEVER_END = _words(
    """
    mr mrs ms dr prof rev hon gen col capt cmdr lt sgt maj gov pres sen st mt ft messrs mlle mme
    vs cf viz fig figs eq eqs e.g i.e eg ie approx dept univ resp
    z.b d.h u.a s.o vgl bzw evtl ggf inkl bspw hr p.ex sr sra srta dra ud uds sig dott ing avv
    dhr mevr bijv exmo г ул др стр рис гл
    """
)

# They abbreviate only before a number: "No. 5", "pp. 3", "Dec. 24".
BEFORE_NUMBER = _words(
    """
    no nos nr p pp art arts sec ch chap vol vols ed tab ref refs def ex thm prop lem cor abs bd
    kap pág núm pag env ca jan feb mar apr jun jul aug sep sept oct nov dec тыс млн
    """
)

# They end a sentence when a word follows that often starts one.
MAY_END = _words(
    """
    etc inc ltd co corp jr esq bros llc plc a.m p.m u.s u.k u.n e.u u.s.a ph.d b.a m.a m.d
    b.c a.d d.c usw enz ecc al est ave blvd rd т.д т.п им ee.uu
    """
)

# Frequent first words of a sentence.
STARTERS = _words(
    """
    a an the this that these those it its he she they we i you his her their our my your there
    here in on at by for from to of with as if when while where why how what who which but and
    or so yet nor not no yes after before since until although because however then now once
    one two some many most all each every both several such another other first second finally
    der die das ein eine er sie es wir ich le la les il elle nous un une el los las
    """
)

# A number and a dot before one of these is a date, not the end of a sentence.
MONTHS = _words(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    januari februari maart mei juni juli augustus oktober december
    """
)

"""Words that say little about what a text is about.

English only. Other languages are handled by word length and by how many of a cluster's
sentences hold a word; this list makes the commonest case exact.
"""

_LIST = """
a about above after again against ago ain all almost alone along already also although always
am among an and another any anybody anyone anything are aren around as ask asked at away back
be became because become been before began behind being below best better between both but by
call called came can cannot come could couldn did didn do does doesn doing don done down during
each either else enough etc even ever every everyone everything far few first for from further
gave get give go goes going gone good got had hadn has hasn have haven having he hence her here
hers herself him himself his how however i if in indeed instead into is isn it its itself just
keep kept knew know last later least less let like little ll long look looked made make making
many may maybe me mean might mine more moreover most much must my myself near need neither never
next no nobody none nor not nothing now of off often oh on once one only onto or other others
otherwise our ours ourselves out over own per perhaps put quite rather re really right said same
saw say says see seem seemed seems seen several shall she should shouldn since so some somebody
someone something sometimes somewhere soon still such take taken tell than that the their theirs
them themselves then there therefore these they thing things think this those though thought
through thus till to together told too took toward towards turn turned two under unless until up
upon us use used using ve very want wanted was wasn way we well went were weren what whatever
when where whether which while who whole whom whose why will with within without won would
wouldn yes yet you your yours yourself
"""
STOPWORDS = frozenset(_LIST.split())

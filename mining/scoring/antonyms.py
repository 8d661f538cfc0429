"""English words and their opposites: a list of our own, for sentences that must not be taken for each other."""

from __future__ import annotations

_PAIRS = """
above below|absent present|accept reject|accepted rejected|active passive|add remove|added removed
advantage disadvantage|advantages disadvantages|after before|agree disagree|agreed disagreed|allow forbid
allowed forbidden|always never|ancient modern|appear disappear|appeared disappeared|arrive leave|arrived left
asleep awake|attack defend|attacked defended|bad good|beautiful ugly|begin end|began ended|beginning end|best worst
better worse|big small|biggest smallest|bitter sweet|black white|boring exciting|bottom top|bought sold|brave cowardly
bright dark|build destroy|built destroyed|buy sell|careful careless|certain uncertain|cheap expensive|cheaper dearer
clean dirty|cleaner dirtier|clear unclear|clever stupid|closed open|cold hot|colder hotter|common rare
complete incomplete|correct wrong|correctly wrongly|dangerous safe|day night|dead alive|deep shallow|deeper shallower
difficult easy|direct indirect|down up|downward upward|dry wet|dull sharp|earlier later|earliest latest|early late
easier harder|easiest hardest|east west|eastern western|empty full|enable disable|enabled disabled
encourage discourage|enemies friends|enemy friend|enter leave|entered left|equal unequal|even odd|everybody nobody
everyone nobody|everything nothing|everywhere nowhere|expand shrink|expanded shrank|external internal|fail succeed
failed succeeded|failure success|fair unfair|false true|familiar strange|far near|fast slow|faster slower
fastest slowest|fewer more|fewest most|finish start|finished started|first last|foolish wise|forget remember
forgot remembered|forward backward|found lost|frequent rare|frequently rarely|friendly hostile|front back|future past
gain lose|gained lost|gentle rough|give take|gave took|given taken|guilty innocent|happy sad|happier sadder|hard soft
hate love|hated loved|healthy sick|heavier lighter|heavy light|here there|high low|higher lower|highest lowest
honest dishonest|huge tiny|import export|imported exported|important unimportant|include exclude|included excluded
increase decrease|increased decreased|increases decreases|increasing decreasing|inner outer|inside outside
known unknown|large little|largest smallest|lawful unlawful|least most|left right|legal illegal|less more
likely unlikely|likes dislikes|long short|longer shorter|longest shortest|loud quiet|lucky unlucky|major minor
majority minority|male female|married single|maximum minimum|natural artificial|narrow wide|necessary unnecessary
negative positive|new old|newer older|newest oldest|noisy silent|normal abnormal|north south|northern southern
often seldom|older younger|oldest youngest|optimistic pessimistic|over under|patient impatient|peace war
perfect imperfect|permanent temporary|permit prohibit|permitted prohibited|polite rude|poor rich|poorer richer
possible impossible|powerful weak|private public|probable improbable|profit loss|protect endanger|proud ashamed
pull push|pulled pushed|raise lower|raised lowered|real imaginary|recent old|regular irregular
responsible irresponsible|rise fall|rising falling|rose fell|same different|satisfied dissatisfied|secret public
simple complex|simpler harder|slowly quickly|smooth rough|solid liquid|sooner later|strength weakness|strong weak
stronger weaker|strongest weakest|sufficient insufficient|support oppose|supported opposed|supports opposes|tall short
taller shorter|tallest shortest|thick thin|thicker thinner|tight loose|together apart|top bottom|usual unusual
usually rarely|useful useless|vertical horizontal|victory defeat|visible invisible|warm cool|warmer cooler
wealthy poor|willing unwilling|win lose|winner loser|winners losers|with without|won lost|yes no|young old
younger older|youngest oldest
"""


def _both_ways() -> dict[str, str]:
    """Each word's opposite; where a word is in several pairs, the first one counts."""
    found: dict[str, str] = {}
    for pair in _PAIRS.replace("\n", "|").strip("|").split("|"):
        word, opposite = pair.split(" ")
        found.setdefault(word, opposite)
        found.setdefault(opposite, word)
    return found


ANTONYMS = _both_ways()

"""The words by which an instruction shows what it needs: tables, read by `intent`."""

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE)


CHATTER = _any(
    r"^\W*(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|great|perfect|cool|fine|bye"
    r"|good (?:morning|evening))"
    r"(?:[\s,.!]+(?:there|again|so much|that is all.*|that's all.*|all good.*))?\W*$",
    r"^\W*(?:yes|no|sure|nope|yep|right)\b",
)
# Said as it is typed into a shell.
COMMAND = re.compile(
    r"^(?:git|ls|cd|cat|grep|docker|kubectl|npm|pip|make|curl|ssh|cp|mv|rm|mkdir|pwd|echo)\b[^?]*$"
)
# Knowledge of the world, whatever the context says.
GENERAL = _any(
    r"^what (?:is|are) (?:an? |\w+\?|common\b)",
    r"^what is [A-Z]?\w+\?$",
    r"^what does (?:the (?:word|term|acronym)\b|\S+ (?:mean|stand for))",
    r"\bin general\b",
    r"\bwhat do \w+ mean by\b",
    r"\bstands? for\b",
    r"^how (?:do|can|should) (?:i|you|one|we) ",
    r"^explain (?:how|what|why) (?:an? )",
    r"^(?:when|where|how) (?:should|can|do|does) (?:\w+s|i|one)\b"
    r".* (?:in|near|for|with) (?:the )?[A-Z0-9]",
    r"^which \w+(?: \w+)? (?:is|are) (?!(?:in|on|at)\b)\w+\?$",
)
# Something new is asked for, described in the instruction itself.
CREATES = re.compile(
    r"^(?:please )?(?:write|create|draft|generate|compose|tell|give|recommend|invent|design|open"
    r"|make|implement|convert|translate|multiply|calculate|suggest|name)\b(?: me)?(?: \w+)? "
    r"(?:an?|some|\d+|one|two|three|four|five|ten|new)\b",
    re.IGNORECASE,
)
QUOTED_MATTER = re.compile(r"\b(?:this|these|the following)\b[^:]{0,40}:\s*\S", re.IGNORECASE)

# What was said, done or liked before.
RECALLS = _any(
    r"\busual(?:ly)?\b",
    r"\b(?:as|like|than) (?:always|ever|before|normal)\b",
    r"\bnormal(?:ly)? time\b",
    r"\b(?:as|like) (?:\w+ ){0,2}(?:last|the last|previous)\b",
    r"\blast (?:time|night|week|month|year|winter|summer|spring|autumn)\b",
    r"\byesterday\b",
    r"\bon (?:mon|tues|wednes|thurs|fri|satur|sun)day\?",
    r"\bfrom (?:mon|tues|wednes|thurs|fri)day\b",
    r"\bthis morning\b",
    r"\b\w+ (?:years|weeks|months|days) ago\b",
    r"\bthe same\b",
    r"\b(?:we|i|you) (?:had |have |already )?(?:agreed|decided|discussed|talked|mentioned|said"
    r"|chose|picked|came up|spoke|met|gave|told|asked|liked?|prefer(?:red)?|wanted|stopped|saw"
    r"|used?|take|always)\b",
    r"\b(?:did|do|does|have|had|was|were) (?:i|we) (?:ever |already |still )?\w+",
    r"\b(?:told|gave|sent|promised) (?:me|us)\b",
    r"\b(?:remind me|remember|do you recall)\b",
    r"\bin the end\b",
    r"\bback to (?:how|the way|what)\b",
    r"\b(?:config|setting|it|them) back$",
    r"\bthe way (?:i|we|they|it)\b",
    r"\b(?:preferred|favou?rite|house style|our (?:own )?convention|convention)\b",
    r"\b(?:still|ever) \w+",
    r"\bthat worked\b",
    r"\bwhere (?:do|did|are|were) we\b",
    r"\bthe other \w+",
    r"\bolder? ones?\b",
)
SAID_AGAIN = re.compile(r"\b(?:again|once more|back then)\b", re.IGNORECASE)
OF_ONESELF = re.compile(r"\b(?:i|my|we|our)\b", re.IGNORECASE)
TOPIC = re.compile(r"\b(?:about|on the subject of|called|named|titled)\b.*$", re.IGNORECASE)
POSSESSED = re.compile(
    r"\b(?:my|our) (?!(?:name is|goal is)\b)([a-z]+(?:'s)?(?: [a-z]+)?)", re.IGNORECASE
)
POINTS = re.compile(
    r"\b(?:it|its|them|they|him|her|those|these|that|this|there|one)\b"
    r"(?! (?:is|was|will|you|we|i)\b)",
    re.IGNORECASE,
)
DEFINITE = re.compile(
    r"\b(?:the|that|this|those|these) ((?:[a-z][\w.'-]*(?: |$|\b)){1,3})", re.IGNORECASE
)

# The content of something is asked for.
LOOKS_INTO = _any(
    r"\?\s*$",
    r"^(?:please )?(?:summari[sz]e|show|list|find|grep|search|read|review|compare|check"
    r"|go through|look|extract|count|quote|fix|shorten|explain|print|tell me"
    r"|use the same|turn my|rewrite|sort)\b",
)
ACCORDING = _any(
    r"\baccording to\b",
    r"\bas (?:the|in) (?:\w+ ){1,3}(?:says?|said)\b",
    r"\bin (?:the|that|this|its) ",
    r"\b(?:does|do|did) (?:the|it|that|they)\b"
    r".*\b(?:say|show|mention|include|contain|print|destroy|change)",
)
WHOLE_SET = _any(
    r"\bcompare\b", r"\bboth\b", r"\btwo\b", r"\ball (?:of )?(?:them|the)\b", r"\bfrom .+ to\b"
)
# What a placeholder stands for, by how an instruction calls such things.
CALLED = {
    "output": r"log|output|result|results|console|printed?|response|answer(?:ed)?",
    "failure": r"error|errors|fail(?:s|ed|ing|ure)?|crash\w*|broke|break|stop(?:ped)?|traceback"
    r"|warnings?|wrong|complain\w*",
    "text": r"file|document|doc|page|article|report|contract|letter|transcript|paper|book|leaflet"
    r"|quote|notes?|checklist|clause|chapter|section|paragraph|lines?|authors?|essay|memo|mail|message",
    "data": r"rows?|columns?|field|json|csv|table|entries|average|sum|total|most|least|how many"
    r"|how much",
    "change": r"diff|changes?|changed|pull request|commit|patch",
}
KINDS = {
    "output": r"exit \d|\brun\b|^\S+ \S+|log",
    "failure": r"exit [1-9]|error lines?|fail|warning|crash|sig[a-z]+",
    "text": r"\.(?:pdf|docx?|txt|md|tex|html?|png)\b|https?://",
    "data": r"json|csv|rows|xlsx|\btables\b",
    "change": r"diff",
}
SPECIFIC = _any(
    r"[\"“'][^\"”']{2,}[\"”']",
    r"\S+@\S+\.\w+",
    r"https?://\S+",
    r"(?:^|\s)[~./]*[\w-]+/[\w./-]+",
    r"(?:^|\s)~?/[\w.-]+",
    r"\b[\w-]+\.[a-z]{2,}\b",
    r"\b[\w-]+\.(?:py|md|txt|json|ya?ml|toml|c|ts|js|csv|pdf|conf|sql|sh|tex|docx?)\b",
    r"#[\w-]+",
    r"\b[A-Z]{2,}-\d+\b",
    r"\d",
)
NAME = re.compile(r"(?<!^)(?<![.!?:] )\b[A-Z][a-z]+\b|\b[a-z]+[A-Z]\w+\b")
ABBREVIATED = {
    "db": "database",
    "repo": "repository",
    "config": "configuration",
    "env": "environment",
    "prod": "production",
    "docs": "documentation",
}
STOP = frozenset(
    re.findall(
        r"\w+",
        """a an the this that these those it its them they he she him her i me my mine we us our you
        your to of in on at for with from by as is are was were be been do does did done has have
        had will would can could should may might must shall and or but not no so if then than too
        very just please there here what which who whom whose when where why how again also into
        onto out up down about over under off back same usual usually always before last like way
        get give make go let put take tell show use set run all any some more most other one
        ones""",
    )
)

"""Detection of the Windows or ISO code page of an undeclared 8-bit text.

The text is decoded with each page, and its letters are weighed by their frequencies in each
language that the page serves. Code pages of DOS and old Macintosh are never chosen, but if one
explains the letters as well, the result is unclear. ``decoding`` tries this last.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from unicodedata import normalize

_LETTERS = {  # by falling frequency
    "Danish": "erntilasdkogfmuvpbæøyhåcjxéwzq",
    "Dutch": "enatirosdlgvkmupbhcwfjzyxéïëóqüöèáê",
    "Finnish": "tiaensoluäkmrvyphjdögbcfxwzqšåž",
    "French": "eirsntaoludcpméfvghbqxyàèjêzkôwîçâùûœëïÿ",
    "German": "enitrsadlhugocmbfkzpwvüäöyxjßq",
    "Icelandic": "anirlestkugðmdváífoybhójpæýúþöcéxwqz",
    "Italian": "ieoantrlscdupmgvfzbhèqykàwxòùéjì",
    "Portuguese": "oaerisdntmclpuvãfgbhçqáíxzéójõúêkywâôà",
    "Spanish": "eaornisdcltupmbfvgóháqyjzíxúkéñwü",
    "Albanian": "ëteiarnshoukmdpljgvqbyzfçcxw",
    "Catalan": "easirtnlocdupmgfbxvhóqàéíèjzòçyúkïwü",
    "Swedish": "enatrisldkogmfväpuöcbhåyjxwqzé",
    "Croatian": "aeionrtjspkumvdlzgcbčšćfžhđyxwq",
    "Czech": "oenatsprvluikídzámcbyhjřéčýžěfšgůxwúóňqťď",
    "Hungarian": "eatlsnkzroáimégvyhbdcpfíjuóöőüúűxwq",
    "Polish": "aieonzwrtsykcpdulmjgbłżęąćśhófńźvxq",
    "Romanian": "eiatrnuclsodpămfvțbgzșhîxâjkwyq",
    "Slovak": "oaenritsvpkdulmzbácyjhíúýčťéžľfšgxôóäňwďĺqŕ",
    "Slovenian": "aeoinrtpsvkldjmzčubgcšhžfxwyq",
    "Turkish": "aielrnıtdkmsyuobșçgzücğpvhöfxwqjâîû",
    "Estonian": "aietslunokrdmvpgjõbähüfcöxwyšžqz",
    "Latvian": "aitsernuoklmāpdvēzjīgbšcfņūļķhžģxwyč",
    "Lithuanian": "iastenorkumlpdvgyšjbėųįąfcžčūhzęxwq",
    "Vietnamese": "nhtcigđaukpmolrbôydưásàểveếệạợêộậảóịốầấớụxặỗùíìủãọqờềữâựýúỏở"
    "ứơòfửỉổừồắẫéỡăằẩwõĩẽũẻẵèỳzjỹẹỷẳễ",
    "Russian": "оеаинтрслвкпдмузяьыйбчгжфюхшцщэёъ",
    "Ukrainian": "аониевтрікслдпмузябйчьгфжхєцюшїщґ",
    "Bulgarian": "аениотрсвдпзклмъябучжгйфшцщхюь",
    "Belarusian": "анырклесідявпмтузоцьўбэгчйфхшжюёґ",
    "Serbian": "аеионртскупдвмзјлбгчњшљцжћхфђџ",
    "Greek": "αοετνιρσημπκυλςίδγήέόάχωθφύβώξζψϊϋΐ",
    "Hebrew": "יתולמהרנאשבקפדםחעסגטכןצזךףץ",
    "Arabic": "اليمرتةونفدبسعحكجقأصطهخغإزشىثذءضئظؤآ",
    "Persian": "اینردتهومبشسکخلپزفگعجصقطحظچغآذضژئ",
    "Thai": "ารอกมนเงดลตแยสไบขวทจหพคปะ่้ัิีื็ุูำชใถฟณโซผธฐญภษๆฉศฝฮฤ์ึ",
    "Japanese": "",
    "Korean": "",
    "Chinese": "",
}
_WESTERN = "Danish Dutch Finnish French German Icelandic Italian Portuguese Spanish Catalan Swedish"
_CENTRAL = "Croatian Czech Hungarian Polish Romanian Slovak Slovenian German"
_BALTIC = "Estonian Latvian Lithuanian"
_CYRILLIC = "Russian Ukrainian Bulgarian Belarusian Serbian"
_PAGES = {
    "cp1252": f"{_WESTERN} Albanian",
    "cp1250": _CENTRAL,
    "cp1251": _CYRILLIC,
    "cp1253": "Greek",
    "cp1254": "Turkish",
    "cp1255": "Hebrew",
    "cp1256": "Arabic Persian",
    "cp1257": _BALTIC,
    "cp1258": "Vietnamese",
    "cp874": "Thai",
    "iso8859-2": _CENTRAL,
    "iso8859-5": _CYRILLIC,
    "iso8859-7": "Greek",
    "iso8859-9": "Turkish",
    "iso8859-13": _BALTIC,
    "iso8859-15": f"{_WESTERN} Albanian",
    "koi8-r": "Russian Bulgarian",
    "koi8-u": "Ukrainian",
    "cp932": "Japanese",
    "euc_jp": "Japanese",
    "gb18030": "Chinese",
    "big5hkscs": "Chinese",
    "cp949": "Korean",
}
_OLD_PAGES = {
    "cp437": _WESTERN,
    "cp737": "Greek",
    "cp775": _BALTIC,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
    "cp855": _CYRILLIC,
    "cp857": "Turkish",
    "cp866": _CYRILLIC,
    "mac_cyrillic": _CYRILLIC,
    "mac_greek": "Greek",
    "mac_latin2": _CENTRAL,
    "mac_roman": _WESTERN,
    "mac_turkish": "Turkish",
}

_SAMPLE_BYTES, _PIECE_BYTES, _LEAD_BYTES = 4_000, 200, 60
_HIGH, _SPACE = re.compile(rb"[\x80-\xff]"), re.compile(rb"\s")
_DECAY = 0.12  # of the frequency from one letter to the next; the first has this frequency, too
_LAST_RANK = 45
_SAME_LETTER = str.maketrans("ţş", "țș")  # Romanian letters that differ between pages
_RARE, _SYMBOL, _INVALID = -10.0, -11.0, -18.0
_MARKS = dict.fromkeys("“”„‘’‚«»‹›–—…°§€£½¼¾±©®·•№¿¡ªº\xa0", -6.0) | dict.fromkeys(
    "、。，．・：；？！（）「」『』《》", -4.5
)
_FOREIGN = "\u0370-\u06ff\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7a3\uff61-\uff9f"
_STRANGE = re.compile(  # a symbol in a word, a capital after a small letter, two scripts in a word
    r"[^\W\d_](?:[^\w\s\x00-\x7f’‘·–—…\xa0«»“”„\u0300-\u036f\u0e00-\u0e7f]|[¹²³ªº])(?=[^\W\d_])|[£½¼¾](?=[^\W\d_])"
    r"|[a-zß-öø-ÿа-яёα-ώ](?=[À-ÖØ-ÞА-ЯЁΑ-ΩĄŁĽŚŠŞŤŹŽŻĞİ])"
    rf"|[A-Za-z](?=[{_FOREIGN}])|[{_FOREIGN}](?=[A-Za-z])"
)
_STRANGE_WEIGHT = -5.0
_CLEAR_MARGIN, _OLD_MARGIN = 4.0, 2.0
_LEAST_WEIGHT = -6.0
_WESTERN_BONUS = 2.0  # most 8-bit files are in cp1252


@dataclass(frozen=True, slots=True)
class CodePage:
    """Most likely encoding of a text; unless ``is_unambiguous``, another explains it as well."""

    encoding: str
    is_unambiguous: bool


def guess_code_page(data: bytes) -> CodePage:
    """Return the code page that gives the words of a text the most likely letters."""
    words = _sample_non_ascii(data)
    scores: dict[str, tuple[float, str]] = {}
    for page, languages in _PAGES.items():
        text, score = _decode_and_score(words, page, languages)
        score += _WESTERN_BONUS * (page == "cp1252")
        if score > scores.get(text, (-math.inf, ""))[0]:
            scores[text] = score, page
    (best, page), *rest = sorted(scores.values(), key=lambda pair: -pair[0])
    n_high = len(_HIGH.findall(words))
    is_likely = best - rest[0][0] >= _CLEAR_MARGIN and best >= _LEAST_WEIGHT * len(words)
    is_clear = is_likely and n_high > 0
    if is_clear:
        is_clear = best - _OLD_MARGIN > max(
            _decode_and_score(words, *old)[1] for old in _OLD_PAGES.items()
        )
    return CodePage(page, is_clear)


def _decode_and_score(words: bytes, page: str, languages: str) -> tuple[str, float]:
    """Decode words with a code page; return the text and the score in its best language."""
    text = normalize("NFC", words.decode(page, "replace"))
    letters = Counter(text.lower().translate(_SAME_LETTER))
    score = max(_log_likelihood(letters, language) for language in languages.split())
    return text, score + _STRANGE_WEIGHT * len(_STRANGE.findall(text))


def _sample_non_ascii(data: bytes) -> bytes:
    """Sample the first non-ASCII bytes with the words around them; keep multibyte letters whole."""
    pieces: list[bytes] = []
    end = 0
    while sum(map(len, pieces)) < _SAMPLE_BYTES and (high := _HIGH.search(data, end)):
        lead = max(end, high.start() - _LEAD_BYTES)
        space = _SPACE.search(data, lead, high.start()) if lead > end else None
        start = space.end() if space else lead
        until = _SPACE.search(data, high.start() + _PIECE_BYTES)
        end = until.start() if until else len(data)
        pieces.append(data[start:end][:_SAMPLE_BYTES])
    return b" ".join(pieces)


def _log_likelihood(letters: Counter[str], language: str) -> float:
    """Return the log probability of letters in a language."""
    weights = _letter_log_likelihoods(language)
    total = 0.0
    for char, count in letters.items():
        if char.isalpha() or char > "\x7f":
            if char not in weights:
                weights[char] = _weigh_rare_char(char, language)
            total += count * weights[char]
    return total


@cache
def _letter_log_likelihoods(language: str) -> dict[str, float]:
    letters = enumerate(_LETTERS[language])
    return {c: math.log(_DECAY) - _DECAY * min(rank, _LAST_RANK) for rank, c in letters}


def _weigh_rare_char(char: str, language: str) -> float:
    """Weigh a character that is not a frequent letter of the alphabet."""
    weight = _RARE if char.isalpha() else _SYMBOL
    if char == "\ufffd" or "\x7f" <= char < "\xa0" or "\ue000" <= char < "\uf900":
        weight = _INVALID
    elif char.isascii():
        weight = -4.0
    elif language == "Japanese" and "\u3041" <= char <= "\u30fe":
        weight = -5.0
    elif language == "Korean" and "\uac00" <= char <= "\ud7a3":
        weight = -7.0 if _lead_byte(char, "euc_kr") else -13.0
    elif "\u4e00" <= char <= "\u9fff" and language in {"Japanese", "Chinese"}:
        weight = _weigh_ideograph(char, language)
    elif char > "\u3000":
        weight = -13.0
    return _MARKS.get(char, weight)


def _weigh_ideograph(char: str, language: str) -> float:
    pages = {"euc_jp": 0xCF} if language == "Japanese" else {"gb2312": 0xD7, "big5": 0xC6}
    leads = ((_lead_byte(char, page), last) for page, last in pages.items())
    return -7.5 if any(0 < lead <= last for lead, last in leads) else -13.0


def _lead_byte(char: str, page: str) -> int:
    try:
        return char.encode(page)[0]
    except UnicodeEncodeError:
        return 0

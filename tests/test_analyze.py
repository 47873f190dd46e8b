import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.search import analyze

MEGABYTE = 1 << 20


def finds(query: str, text: str) -> bool:
    """Whether the text has every word that the query asks for, German stems aside."""
    asked = [term for term in analyze.query_terms(query) if not term.startswith("de ")]
    return bool(asked) and set(asked) <= set(analyze.terms(text))


def meets(query: str, text: str) -> bool:
    return not set(analyze.query_terms(query)).isdisjoint(analyze.terms(text))


def test_terms_come_in_order_and_with_repeats() -> None:
    found = analyze.terms("The dog saw the dogs")

    assert found == ["the", "dog", "saw", "the", "dog"]


def test_a_query_drops_stop_words_question_words_and_repeats() -> None:
    asked = analyze.query_terms("What did you say about the dog, and how many dogs have we?")

    assert asked == ["say", "dog"]


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    asked = analyze.query_terms("Who are you?")

    assert asked == ["who", "are", "you"]


def test_a_name_that_stems_like_a_stop_word_stays_in_the_query() -> None:
    asked = analyze.query_terms("Where does John Doe live?")

    assert asked == ["john", "doe", "live"]


def test_a_contraction_is_a_stop_word_and_a_possessive_is_its_noun() -> None:
    asked = analyze.query_terms("Why don\u2019t they like Caroline's garden?")

    assert asked == ["like", "carolin", "garden"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("user by id", "call getUserById(7)"),
        ("getuserbyid", "call getUserById(7)"),
        ("getUserById", "call getUserById(7)"),
        ("http server", "class HTTPServer2:"),
        ("HTTPServer2", "class HTTPServer2:"),
        ("IDs", "the id of a row"),
        ("snake case", "rename snake_case now"),
        ("snake_case", "rename snake_case now"),
        ("kebab-case", "a kebab-case name"),
        ("kebab case", "a kebab-case name"),
        ("dotted names", "import dotted.names"),
        ("init", "def __init__(self)"),
        ("std::vector", "a std::vector of ints"),
        ("C++", "written in C++, mostly"),
        ("main.py", "see src/app/main.py:14"),
        ("src/app/main.py", "see src/app/main.py for it"),
        ("app", "see src/app/main.py for it"),
        ("x.txt", r"in C:\Users\jane\x.txt"),
        ("example.com", "open https://example.com/a?b=1 now"),
        ("https://example.com/a?b=1", "open https://example.com/a?b=1 now"),
        ("jane@example.com", "mail jane@example.com."),
        ("jane", "mail jane@example.com."),
        ("E1234", "error E1234: no"),
        ("1234", "error E1234: no"),
        ("0x80070005", "failed with 0x80070005"),
        ("0X80070005", "failed with 0x80070005"),
        ("ERR_CONN_RESET", "net::ERR_CONN_RESET"),
        ("conn reset", "net::ERR_CONN_RESET"),
        ("404", "it answered 404."),
        ("2023-06-05", "on 2023-06-05 we met"),
        ("3.14", "pi is 3.14"),
    ],
)
def test_identifiers_paths_and_codes_are_found_whole_and_by_their_parts(
    query: str, text: str
) -> None:
    assert finds(query, text)


def test_an_error_code_does_not_find_its_neighbour_as_a_whole() -> None:
    asked = analyze.query_terms("0x80070005")

    assert set(asked).isdisjoint(analyze.terms("0x80070006"))


def test_hashes_and_random_ids_are_not_cut_to_pieces() -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

    assert analyze.terms(f"{digest} {ulid}") == [digest, ulid.lower()]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Haus", "Die Häuser sind alt und groß."),
        ("Häuser", "Das Haus ist alt."),
        ("Hauser", "Die Häuser sind alt und groß."),
        ("Haeuser", "Die Häuser sind alt und groß."),
        ("HÄUSER", "Die Ha\u0308user sind alt."),
        ("Kinder", "Das ist ein Kind."),
        ("Entscheidung", "Wir haben die Entscheidungen besprochen."),
        ("Straße", "Die STRASSE ist noch gesperrt."),
        ("Muller", "I met Müller today."),
        ("Müller", "I met Muller today."),
        ("cafe", "the Café was full"),
        ("deployments", "Das Deployment ist nicht fertig."),
    ],
)
def test_german_words_and_accents_meet_across_their_forms(query: str, text: str) -> None:
    assert meets(query, text)


def test_a_german_question_drops_its_stop_words() -> None:
    asked = analyze.query_terms("Wo ist das Haus von Anna?")

    assert asked == ["haus", "de haus", "anna", "de anna"]


def test_english_text_and_english_questions_carry_no_german_stems() -> None:
    found = analyze.terms("The server was ordered by Jane.")
    asked = analyze.query_terms("What did the server serve?")

    assert found == ["the", "server", "was", "order", "by", "jane"]
    assert asked == ["server", "serv"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("北京", "我爱北京天安门。"),
        ("猫", "黒い猫がいる"),
        ("東京", "昨日、東京に行きました"),
        ("パソコン", "新しいﾊﾟｿｺﾝを買った"),
        ("학교", "어제 학교에서 만났다"),
        ("책", "책을 읽었다"),
        ("ไทย", "ภาษาไทยง่าย"),
        ("PostgreSQL", "我们用PostgreSQL数据库"),
        ("数据库", "我们用PostgreSQL数据库"),
    ],
)
def test_scripts_without_spaces_are_found_by_word_and_by_single_character(
    query: str, text: str
) -> None:
    assert finds(query, text)


def test_a_query_in_chinese_asks_for_pairs_only() -> None:
    asked = analyze.query_terms("天安门")

    assert asked == ["天安", "安门"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("книга", "мои книги здесь"),
        ("שלום", "שָׁלוֹם עולם"),
        ("كتاب", "كِتَاب جديد"),
        ("हिन्दी", "मुझे हिन्दी आती है।"),
        ("İstanbul", "trip to istanbul"),
        ("ﬁle", "the file"),
        ("\uff11\uff12\uff13", "room 123"),
        ("e\u0301te\u0301", "l'été dernier"),
        ("co\u00adoperate", "they cooperate"),
    ],
)
def test_other_scripts_and_forms_of_a_character_meet(query: str, text: str) -> None:
    assert finds(query, text)


def test_hindi_words_keep_their_vowel_signs() -> None:
    assert analyze.terms("हिन्दी") == ["हिन्दी"]


def test_a_long_query_is_cut_to_its_first_terms() -> None:
    query = " ".join(f"word{n}" for n in range(1000))

    asked = analyze.query_terms(query)

    assert len(asked) == analyze.MAX_QUERY_TERMS
    assert asked[0] == "word0"


def test_a_long_token_is_cut_alike_on_both_sides() -> None:
    blob = "QUJD" * 300_000

    assert finds(blob, f"token {blob}")
    assert len(analyze.terms(blob)) == 1
    assert len(analyze.terms(blob)[0].encode()) == analyze.MAX_TERM_BYTES


@pytest.mark.parametrize("text", ["", " \n", "___", "…!?", "👩‍👩‍👧", "\u0301\u0302", "\ud800"])
def test_what_holds_no_word_has_no_terms(text: str) -> None:
    assert analyze.terms(text) == []
    assert analyze.query_terms(text) == []


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "_", "aB", "a_", "a.", "a/", "a\\", "a'", "a::", "a ", "a1", "0a", "漢", "\ufdfa"),
        *("\u0301\u0316", "h\u0301\u0316\u0489", "\u0650\u064e", "\u093c\u094d", "\u0e48\u0e38"),
        *("שלום ", "\u202eabc\u202c ", "👩\u200d👧", "\u1100\u1161"),
    ],
    ids=ascii,
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (MEGABYTE // len(unit.encode()))
    began = time.process_time()
    found = analyze.terms(text)
    took = time.process_time() - began

    assert took < 4  # seconds on a busy machine; a quadratic step takes minutes
    assert all(0 < len(term.encode()) <= analyze.MAX_TERM_BYTES for term in set(found))


def test_a_mark_run_after_a_letter_takes_linear_time() -> None:
    text = "a" + "\u0301\u0316" * (MEGABYTE // 4)
    began = time.process_time()
    found = analyze.terms(text)

    assert found == ["a"]
    assert time.process_time() - began < 2


def test_threads_agree_on_the_terms() -> None:
    texts = [f"running{n} generations decided happily Häuser{n}" for n in range(400)]
    expected = [analyze.terms(text) for text in texts]
    analyze._known.cache_clear()
    analyze._stems.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(analyze.terms, texts))

    assert found == expected


@settings(deadline=None)
@given(st.text())
def test_any_text_gives_bounded_terms_the_same_each_time(text: str) -> None:
    found = analyze.terms(text)
    again = analyze.terms(text)

    assert found == again
    assert all(0 < len(term.encode()) <= analyze.MAX_TERM_BYTES for term in found)


@settings(deadline=None)
@given(st.text(max_size=31))
def test_normalising_a_text_first_changes_no_term(text: str) -> None:
    normal = unicodedata.normalize("NFKC", text)

    assert analyze.terms(normal) == analyze.terms(text)


@settings(deadline=None)
@given(st.text())
def test_a_query_finds_the_text_it_quotes(text: str) -> None:
    asked = analyze.query_terms(text)
    found = analyze.terms(text)

    assert len(asked) == len(set(asked)) <= analyze.MAX_QUERY_TERMS
    assert {term for term in asked if not term.startswith("de ")} <= set(found)


@settings(deadline=None)
@given(st.text(alphabet="aZ9_.-/:'\\ é漢क\u0301\u2019", max_size=200))
def test_mixtures_of_joints_and_scripts_stay_bounded(text: str) -> None:
    found = analyze.terms(text)

    assert all(term.strip("_") for term in found)
    assert all(len(term.encode()) <= analyze.MAX_TERM_BYTES for term in found)

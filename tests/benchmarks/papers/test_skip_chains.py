"""What skip chains of announcements see, and which of their words they join."""

from __future__ import annotations

TEXT = "Who: Dr. Green\nTime: 3:30 pm\n<sentence>GREEN's talk</sentence>\n"


def test_tokens_know_their_line():
    from papers.field_corpora import announcement
    from papers.skip_chains import features

    tokens = features(announcement(TEXT))
    assert [token["line"] for token in tokens] == [
        *("<first>", "who:", "who:"),
        *("<first>", "time:", "time:"),
        *("<first>", "green's"),
    ]
    assert [token["place"] for token in tokens] == list("01201201")
    assert {token["line length"] for token in tokens[:6]} == {"3"}
    assert tokens[0]["word 4"] == "3:30"
    assert "word -3" not in tokens[2]
    assert tokens[1]["shape 1"] == "Xxxxx"


def test_names_and_numbers_that_few_texts_have_are_alike():
    from papers.field_corpora import announcement
    from papers.skip_chains import alike, features

    texts = [announcement(TEXT)] + 39 * [announcement("Who: nobody")]
    key = alike(texts)["key"]
    assert [key(token) for token in features(texts[0])] == [
        *(None, "dr", "green"),
        *("time", "3:30", None),
        *("green", None),
    ]
    # of one text alone each word is common
    assert not any(map(alike(texts[:1])["key"], features(texts[0])))

"""Examples of pages are run, those that fail are counted, and nothing is left behind."""

from __future__ import annotations

import pytest

GOOD_MARKDOWN = """\
# Title

```python
x = 1
```

```bash
exit 1
```

```
>>> x + 1
2
```

```python
assert x == 1, "the namespace is that of the page"
open("file.txt", "w").close()
```
"""
GOOD_RST = """\
Title
=====

>>> x = [1,
...      2]
>>> print(x)
[1,
 2]

Text between.

>>> x[0]
1
"""
FAULTS = {
    "wrong.rst": ">>> 1 + 1\n3\n",
    "raises.rst": ">>> 1 / 0\n",
    "wrong.md": "```\n>>> 1 + 1\n3\n```\n",
    "README.md": "```python\n1 / 0\n```\n",
}


@pytest.mark.parametrize(("name", "text"), [("README.md", GOOD_MARKDOWN), ("a.rst", GOOD_RST)])
def test_good_examples(tmp_path, name, text):
    from check_examples import main

    (tmp_path / name).write_text(text)
    assert main([str(tmp_path / name)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", FAULTS)
def test_examples_that_fail(tmp_path, name, capsys):
    from check_examples import main

    (tmp_path / name).write_text(FAULTS[name])
    (tmp_path / "good.rst").write_text(GOOD_RST)
    assert main([str(tmp_path)]) == 1
    assert f"{name}: 1 examples fail" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("printed", "is_right"),
    [
        ("score 30.424, [ 0.12 -1.5e-03]", True),
        ("score 30.426, [ 0.13 -1.6e-03]", True),
        ("score 30.427, [ 0.12 -1.5e-03]", False),
        ("score 30.424, [ 0.14 -1.5e-03]", False),
        ("score 30.424, [ 0.12 -1.5e-02]", False),
        ("score 30.424, [ 0.12 1.5e-03]", False),
        ("scores 30.424, [ 0.12 -1.5e-03]", False),
        ("score 30.424, [ 0.12]", False),
        ("score 31, [ 0.12 -1.5e-03]", False),
    ],
)
def test_decimals_may_differ_in_their_last_digits(tmp_path, printed, is_right):
    from check_examples import main

    page = f'>>> print("{printed}")\nscore 30.424, [ 0.12 -1.5e-03]\n'
    (tmp_path / "a.rst").write_text(page)
    assert main([str(tmp_path)]) == int(not is_right)


def test_syntax_errors_are_faults(tmp_path):
    from check_examples import main

    (tmp_path / "README.md").write_text("```python\n1 +\n```\n")
    assert main([str(tmp_path)]) == 1


def test_only_some_pages_have_whole_programs(tmp_path):
    from check_examples import main

    (tmp_path / "recipes.md").write_text("```python\nclass Yours(Base): ...\n```\n")
    assert main([str(tmp_path)]) == 0


def test_pages_that_builds_make_are_left_out(tmp_path):
    from check_examples import pages_of

    for folder in ("guide", "gallery", "api/generated"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.rst").write_text("")
    assert pages_of(tmp_path) == [tmp_path / "guide" / "a.rst"]


def test_no_page_is_an_error():
    from check_examples import main

    assert main([]) == 2

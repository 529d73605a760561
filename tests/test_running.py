"""What runs the examples of Markdown pages catches every way in which one can be wrong."""

import pytest

from tests.running import Player, unknown_options

RIGHT = {
    "output": "```console\n$ echo one; echo two\none\ntwo\n```\n",
    "left out": "```console\n$ seq 5\n1\n...\n5\n```\n",
    "two lines": "```console\n$ echo one \\\n    two\none two\n```\n",
    "status": "```console\n$ false\n$ echo $?\n1\n```\n",
    "files": "```console\n$ echo 3 > count\n```\n```python\nheld = int(open('count').read())\n```\n",
    "names": "```python\nfound = 2\n```\n```pycon\n>>> found + 1\n3\n```\n```python\nassert found == 2\n```\n",
}
WRONG = {
    "output": "```console\n$ echo one\ntwo\n```\n",
    "output that is not shown": "```console\n$ echo one; echo two\none\n```\n",
    "status": "```console\n$ false\n$ echo $?\n0\n```\n",
    "status that is not shown": "```console\n$ false\n```\n",
    "status before another command": "```console\n$ false\n$ echo one\none\n```\n",
    "python": "```python\nassert 1 == 2\n```\n",
    "pycon": "```pycon\n>>> 1 + 1\n3\n```\n",
}
COMMANDS = {
    "`surecut calibrate --table a --max-drop 1%`": True,
    "```sh\nsurecut show cert.json --latex\n```\n": True,
    "surecut wonders about prose": True,
    "`surecut calibrat --table a`": False,
    "`surecut calibrate\n--tabel a`": False,
    "```sh\nsurecut calibrate --table a \\\n    --max-drp 1%\n```\n": False,
    "    surecut prune cert.json --retriver a": False,
}


@pytest.mark.parametrize("page", RIGHT.values(), ids=RIGHT)
def test_a_right_page_has_no_fault(page, tmp_path):
    assert list(Player(tmp_path, 88).faults(page)) == []


@pytest.mark.parametrize("page", WRONG.values(), ids=WRONG)
def test_a_wrong_page_has_a_fault(page, tmp_path):
    assert len(list(Player(tmp_path, 88).faults(page))) == 1


@pytest.mark.parametrize("page", COMMANDS)
def test_options_that_do_not_exist_are_found(page):
    assert (list(unknown_options(page)) == []) == COMMANDS[page]

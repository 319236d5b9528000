"""An act that is repeated in a thread while a block runs."""

import threading
import unittest

from tools.client import wait


class MeanwhileTest(unittest.TestCase):
    def setUp(self) -> None:
        self.acts = 0

    def act(self) -> None:
        self.acts += 1

    def fail_at_third(self) -> None:
        self.act()
        if self.acts == 3:
            raise ValueError("third")

    def await_acts(self) -> None:
        wait.until(lambda: self.acts, lambda number: number >= 3, 30, "acts")

    def test_until_the_block_ends(self) -> None:
        before = threading.active_count()
        with wait.meanwhile(self.act, 0.01):
            self.await_acts()
            self.assertEqual(before + 1, threading.active_count())
        self.assertEqual(before, threading.active_count())

    def test_a_pause_comes_first_and_ends_with_the_block(self) -> None:
        with wait.meanwhile(self.act, 1000):
            pass
        self.assertEqual(0, self.acts)

    def test_its_error_comes_after_the_block(self) -> None:
        finished = False
        with self.assertRaisesRegex(ValueError, "third"), wait.meanwhile(self.fail_at_third, 0.01):
            self.await_acts()
            finished = True
        self.assertEqual((True, 3), (finished, self.acts))

    def test_it_hides_no_error_of_the_block(self) -> None:
        with self.assertRaises(KeyError), wait.meanwhile(self.fail_at_third, 0.01):
            self.await_acts()
            raise KeyError("block")

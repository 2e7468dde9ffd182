"""Tests that ask another process."""
import multiprocessing
import unittest


class InChild(unittest.TestCase):
    def in_child(self, method, target, *arguments):
        """What `target(*arguments, pipe)` sends from a process that `method` starts."""
        context = multiprocessing.get_context(method)
        here, there = context.Pipe(False)
        child = context.Process(target=target, args=(*arguments, there))
        child.start()
        there.close()
        self.assertTrue(here.poll(120), "the child says nothing")
        answer = here.recv()
        child.join(120)
        self.assertEqual(child.exitcode, 0)
        return answer

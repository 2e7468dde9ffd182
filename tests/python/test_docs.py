"""The examples of docs/python.md and of the package itself."""
import doctest
import os
import unittest

import tenon.model
import text_model as t


class Examples(unittest.TestCase):
    def check(self, suite):
        os.chdir(t.SOURCE)
        result = unittest.TestResult()
        suite.run(result)
        self.assertGreater(result.testsRun, 0)
        self.assertEqual([text for _, text in result.failures + result.errors], [])

    def test_docs(self):
        self.check(doctest.DocFileSuite(
            str(t.SOURCE / "docs" / "python.md"), module_relative=False,
            optionflags=doctest.ELLIPSIS))

    def test_model(self):
        self.check(doctest.DocTestSuite(tenon.model))


if __name__ == "__main__":
    unittest.main()

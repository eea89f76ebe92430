#!/bin/sh
# What the program prints for the calls of answers.txt: answers that transcript.txt does not have, such as the lives of
# requests and jobs in scenarios of each kind.
TRANSCRIPT=tests/golden/answers.txt exec sh tests/golden/transcript.sh

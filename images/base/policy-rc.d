#!/bin/sh
# 101: the action is not allowed. The program of an image is started by its container, never by a package.
exit 101

# SPDX-License-Identifier: MIT
# expect: reject div_zero 1
mov %r0, 1
div %r0, 0 # near: div %r0, 1
exit

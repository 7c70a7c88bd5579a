# SPDX-License-Identifier: MIT
# expect: reject jump_range 1
call local f
ja in # near: exit
f:
mov %r0, 0
in:
exit

# SPDX-License-Identifier: MIT
# A pass ends an iteration.
# expect: accept iteration 5 first 5 iter_steps 0
mov %r0, 0
mov %r1, 0
mov %r2, 0
l:
may_goto e
add %r1, 1
add %r2, 1
ja l
e:
exit

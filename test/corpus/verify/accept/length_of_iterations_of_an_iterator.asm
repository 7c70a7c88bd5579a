# SPDX-License-Identifier: MIT
# Each number ends an iteration: what is done with it, and the call for the next.
# expect: accept iteration 14 first 14 iter_steps 100
iter_new -8, 0, 100
n:
iter_next -8
jeq %r0, 0, e
mov %r0, 1
mov %r0, 1
mov %r0, 1
ja n
e:
iter_end -8
mov %r0, 0
exit

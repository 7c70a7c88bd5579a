# SPDX-License-Identifier: MIT
# A loop walked iteration by iteration is part of each iteration.
# expect: accept iteration 84 first 89 iter_steps 0
mov %r1, 9
bpf_loop cb
mov %r0, 0
exit
cb:
mov %r6, 0
l:
add %r6, 1
jne %r6, 40, l
mov %r0, 0
exit

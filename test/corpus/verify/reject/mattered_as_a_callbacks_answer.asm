# SPDX-License-Identifier: MIT
# expect: reject callback_return 13
# Two ways meet before a callback's exit; one of them answers 2.
mov %r1, 10
bpf_loop f
mov %r0, 0
exit
f:
call 7
jeq %r0, 5, bad
mov %r0, 0
ja join
bad:
mov %r0, 2 # near: mov %r0, 1
join:
exit

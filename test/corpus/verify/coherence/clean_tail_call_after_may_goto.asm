# SPDX-License-Identifier: MIT
# As many passes on all ranks.
# expect: accept
mov %r6, %r1
l:
call 7
jset %r0, 1, nop
nop:
may_goto out
ja l
out:
mov %r1, %r6
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit

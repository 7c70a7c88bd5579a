# SPDX-License-Identifier: MIT
# golden
# What is left of the passes of may_goto is local; the target goes on with it.
# expect: reject local_tail_call 9
# flow: tail call
mov %r6, %r1
l:
call 7
# near: mov %r0, 0
jset %r0, 1, out
may_goto out
ja l
out:
mov %r1, %r6
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit

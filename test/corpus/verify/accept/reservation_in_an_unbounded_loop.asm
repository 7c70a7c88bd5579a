# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
again:
may_goto out
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, again
mov %r1, %r0
mov %r2, 0
call 132
ja again
out:
mov %r0, 0
exit

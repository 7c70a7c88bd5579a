# SPDX-License-Identifier: MIT
# golden
# expect: reject references 5
# opts: held
again:
may_goto out
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
# near: jeq %r0, 0, again
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
ja again
out:
mov %r0, 0
exit

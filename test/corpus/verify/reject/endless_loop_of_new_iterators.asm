# SPDX-License-Identifier: MIT
# Each iteration takes a number, but of another iterator: nothing ends it.
# expect: reject endless_loop 0
again:
# near: may_goto out
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 10
call 0x10001
mov %r1, %r10
add %r1, -8
call 0x10002
mov %r1, %r10
add %r1, -8
call 0x10003
ja again
# near: out:
# near: mov %r0, 0
# near: exit

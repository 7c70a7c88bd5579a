# SPDX-License-Identifier: MIT
# expect: reject lock_access 9
# opts: held
lddw map %r1, @locked # near: lddw map %r1, @counts
lddw func %r2, cb
mov %r3, %r10
mov %r4, 0
call 164
mov %r0, 0
exit
cb:
ldxdw %r1, [%r3]
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# expect: reject uninit 9
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r1, %r0
mov %r2, 0
call 132
# near: mov %r0, 0
exit
out:
mov %r0, 0
exit

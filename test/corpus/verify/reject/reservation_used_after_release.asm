# SPDX-License-Identifier: MIT
# expect: reject use_after_release 10
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
mov %r2, 0
call 132 # near:
ldxdw %r2, [%r6]
# near: call 132
out:
mov %r0, 0
exit

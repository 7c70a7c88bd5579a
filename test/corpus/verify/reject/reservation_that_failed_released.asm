# SPDX-License-Identifier: MIT
# expect: reject release_null 8
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jne %r0, 0, ok
mov %r1, %r0
mov %r2, 0
call 132 # near:
ja out
ok:
mov %r1, %r0
mov %r2, 0
call 132
out:
mov %r0, 0
exit

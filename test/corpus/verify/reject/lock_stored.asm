# SPDX-License-Identifier: MIT
# expect: reject lock_access 8
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
stw [%r6+4], 0 # near: stw [%r6+0], 0
out:
mov %r0, 0
exit

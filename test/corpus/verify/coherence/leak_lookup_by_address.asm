# SPDX-License-Identifier: MIT
# An address is the key: it differs between processes.
# expect: reject local_control 8
# flow: look-up
mov %r6, %r1
stxdw [%r10-8], %r1 # near: stdw [%r10-8], 1
mov %r2, %r10
add %r2, -8
lddw map %r1, @chosen
call 1
jeq %r0, 0, out
stw [%r6+76], 4

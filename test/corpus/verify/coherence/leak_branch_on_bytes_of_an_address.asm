# SPDX-License-Identifier: MIT
# expect: reject local_control 4
# flow: branch
stxdw [%r10-8], %r1
stb [%r10-8], 1
ldxw %r3, [%r10-4]
jeq %r3, 0, +1 # near: jeq %r3, 0, +0
stw [%r1+68], 1
mov %r0, 0
exit

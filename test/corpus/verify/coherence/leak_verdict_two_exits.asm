# SPDX-License-Identifier: MIT
# expect: reject local_verdict 3
# flow: branch
ldxw %r2, [%r1+64]
jeq %r2, 0, z
mov %r0, 1 # near: mov %r0, 0
exit
z:
mov %r0, 0
exit

# SPDX-License-Identifier: MIT
# golden
# expect: reject not_pointer 3
stxdw [%r10-8], %r1
stb [%r10-5], 0 # near: stb [%r10-9], 0
ldxdw %r1, [%r10-8]
ldxdw %r0, [%r1]
exit

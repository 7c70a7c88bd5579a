# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_variable 2
ldxdw %r2, [%r1+8]
and %r2, 7 # near: and %r2, 0
add %r1, %r2
ldxb %r0, [%r1]
exit

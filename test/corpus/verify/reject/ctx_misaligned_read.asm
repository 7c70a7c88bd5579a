# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_align 0
ldxw %r0, [%r1+10] # near: ldxw %r0, [%r1+8]
exit

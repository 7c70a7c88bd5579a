# SPDX-License-Identifier: MIT
# expect: reject ctx_align 0
ldxw %r0, [%r1+10]
exit

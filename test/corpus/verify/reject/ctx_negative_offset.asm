# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_bounds 0
ldxw %r0, [%r1-4] # near: ldxw %r0, [%r1+76]
exit

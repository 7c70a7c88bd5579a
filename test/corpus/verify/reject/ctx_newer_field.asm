# SPDX-License-Identifier: MIT
# expect: reject ctx_newer 0
ldxw %r0, [%r1+84]
exit

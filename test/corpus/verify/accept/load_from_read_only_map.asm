# SPDX-License-Identifier: MIT
# expect: accept
find @config
ldxdw %r1, [%r0]

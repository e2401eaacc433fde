"""Makes an assembler file that embeds files: embed.py OUT.S SYMBOL=PATH…

Each symbol gets SYMBOL and SYMBOL_end. The build lists the paths as dependencies; an .incbin is not in any depfile."""
import os
import sys


def main(out, pairs):
    lines = ['    .section .rodata']
    for pair in pairs:
        symbol, path = pair.split('=', 1)
        path = os.path.relpath(path, os.getcwd())
        lines += [f'    .global {symbol}', f'    .global {symbol}_end', '    .balign 16', f'{symbol}:',
                  f'    .incbin "{path}"', f'{symbol}_end:', '    .byte 0']
    lines.append('    .section .note.GNU-stack,"",%progbits')
    with open(out, 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])

"""The command k8s-vnf: all that operators and authors of packages run.

Built with cliff, as OpenStack's own clients are: python-tackerclient needs cliff anyway, so that
the environment of the tools gets no other library. cliff finds a command by its words, proposes
similar ones, and writes completion for bash; commands are argparse's parsers, and so keep the
habits of ``tools.command``, which ``tools/run`` has on a bare machine. click or typer would need
each of the parsers anew, and their habits beside those of tools/run.
"""

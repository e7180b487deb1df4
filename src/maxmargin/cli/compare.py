"""`maxmargin compare`: solvers beside each other, as the data grow."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Command, Group, Option, write_examples
from maxmargin.cli.compare_options import KEYS, compare_options
from maxmargin.cli.console import console
from maxmargin.cli.errors import Interrupted, RunFailed, UsageError
from maxmargin.cli.options import FILE, given_task_options, task_options

if TYPE_CHECKING:
    from maxmargin.jobs import Job

_SWITCHES = ("-q", "--quiet", "-v", "-vv", "--verbose", "--json")
_EXAMPLES = (
    "compare tagging --data train.txt --sizes 500,1000,5000 --out study",
    "compare tagging --data train.txt --test dev.txt --solvers bcfw,ssg --sizes 500,1000"
    " --seeds 3 --out study",
    "compare --config study.toml --out study",
    "compare --resume study",
)


class _Compare(Group):
    """A command for each task of the registry."""

    noun = "task"

    def list_commands(self, ctx: click.Context) -> list[str]:
        from maxmargin.jobs import JOBS

        return list(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from maxmargin.jobs import JOBS, job_named

        return _command_of(job_named(cmd_name)) if cmd_name in JOBS else None

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        from maxmargin.jobs import job_named

        return [(name, job_named(name).summary) for name in self.list_commands(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Where the configuration names the task, put that where it belongs."""
        switches = list(takewhile(lambda arg: arg in _SWITCHES, args))
        rest = args[len(switches) :]
        if rest and rest[0].startswith("-") and rest[0] not in ("--help", "--resume"):
            with suppress(Exception) if ctx.resilient_parsing else nullcontext():
                args = [*switches, _task_of(ctx, rest), *rest]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text("Each task has its own help: maxmargin compare TASK --help.")
        write_examples(formatter, _EXAMPLES)


def _task_of(ctx: click.Context, args: Sequence[str]) -> str:
    """The task that the configuration named on the command line is for."""
    for i, arg in enumerate(args):
        name, sign, value = arg.partition("=")
        if name == "--config":
            file = value if sign else "".join(args[i + 1 : i + 2])
            task = _read_toml(Path(file)).get("task")
            if not isinstance(task, str):
                raise UsageError(
                    f'{file}: names no task; add `task = "..."`, or give it: compare TASK'
                )
            return task
    tasks = ", ".join(compare.list_commands(ctx))
    ctx.fail(f"name a task ({tasks}) before the options, or --config FILE, or --resume STUDY")


class _TaskCommand(Command):
    """Studies of one task; files : which ones --data takes."""

    def __init__(self, name: str, *, files: str, **settings: Any):
        super().__init__(name, **settings)
        self.files = files

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Files of --data and --test"):
            formatter.write_text(self.files)
        super().format_epilog(ctx, formatter)


def _command_of(job: Job) -> Command:
    def callback(**values: Any) -> None:
        _compare(job, values)

    return _TaskCommand(
        job.name,
        files=job.data_help,
        callback=callback,
        help=f"Compare solvers: {job.title.lower()}. {job.summary}",
        params=[*compare_options(), *task_options(job)],
        examples=(
            f"compare {job.name} --data ... --sizes 500,1000,5000 --seeds 3 --out study",
            f"compare {job.name} --data ... --solvers bcfw,dual-extragradient"
            " --set dual-extragradient.alpha=0 --sizes 100,1000 --out study",
        ),
        with_json=True,
    )


def _compare(job: Job, values: Mapping[str, Any]) -> None:
    if values["out"] is None:
        raise UsageError("--out STUDY is missing: the folder to make for the study")
    from maxmargin.study import plan_in

    out, under = values["out"], {}
    resume = values["resume"] and (out / "study.toml").exists()
    if values["config"]:
        under = _config(job, values["config"])
    elif resume:
        under = plan_in(out)
    if under.get("task", job.name) != job.name:
        raise UsageError(f"the configuration is for the task {under['task']!r}, not {job.name!r}")
    _go({**_joined(job, values, under), "task": job.name}, out, resume)


def _joined(job: Job, values: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration, with what the command line says over it."""
    plan = dict(under)
    for parameter, key in KEYS.items():
        value = values.get(parameter)
        if value is not None and value != ():
            plan[key] = [str(v) for v in value] if key in ("data", "test") else value
    options = given_task_options(job, values)
    if options:
        plan["task-options"] = {**plan.get("task-options", {}), **options}
    known = plan.get("solvers", {})
    known = known if isinstance(known, Mapping) else {label: {} for label in known}
    chosen = values["solvers"] or known or DEFAULT_SOLVERS
    solvers = {label: dict(known.get(label, {})) for label in chosen}
    for label, key, value in values["set"]:
        if label not in solvers:
            raise UsageError(
                f"--set {label}.{key}: the study has no solver {label!r}, only {', '.join(solvers)}"
            )
        solvers[label][key] = value
    return {**plan, "solvers": solvers}


#: those of the study of 2019, and the simplest one beside them
DEFAULT_SOLVERS = ("dual-extragradient", "bcfw", "perceptron")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _config(job: Job, path: Path) -> dict[str, Any]:
    """A configuration file; its paths start from its own folder."""
    plan, home = _read_toml(path), path.absolute().parent
    for key in ("data", "test"):
        if key in plan:
            plan[key] = _placed(plan[key], home)
    options = plan.get("task-options")
    for option in job.options:
        if isinstance(options, dict) and option.kind is Path and option.name in options:
            options[option.name] = _placed(options[option.name], home)
    return plan


def _placed(value: Any, home: Path) -> Any:
    if isinstance(value, list):
        return [_placed(own, home) for own in value]
    return str(home / value) if isinstance(value, str) else value


def _go(plan: Mapping[str, Any], out: Path, resume: bool) -> None:
    from maxmargin.cli.compare_text import Progress, words
    from maxmargin.study import run_study

    try:
        summary = run_study(plan, out, resume=resume, listener=Progress(console()))
    except KeyboardInterrupt:
        again = f"maxmargin compare --resume {shlex.quote(str(out))}"
        raise Interrupted(f"interrupted; go on with: {again}") from None
    report = _report(out)
    console().facts({"study": str(out), **summary, "report": report and str(report)})
    console().say(words(summary, out, report))
    failed = summary["failed"]
    if failed:
        first = failed[0]
        where = f"{first['solver']}-{first['size']}-{first['seed']}"
        raise RunFailed(
            f"{len(failed)} of {summary['cells']} cells failed, first {where}: {first['message']}"
        )


def _report(out: Path) -> Path | None:
    """The study as an HTML file; a fault there does not spoil what was measured."""
    if find_spec("maxmargin.report") is None:
        return None
    from maxmargin.report import write_report

    try:
        return write_report(out)
    except (OSError, ValueError) as error:
        console().warn(f"the study is complete, but it has no report: {error}")
        return None


def _start(resume: Path | None, config: Path | None) -> None:
    """Train with several solvers on more and more data, and compare what that takes and brings.

    Each run, a cell of the study, has a process of its own, so that its memory is its own; time is
    that of training, without compiling and without the certificates. Sizes and seeds choose the
    same samples for all solvers. Cells that are done are kept: a study that was stopped goes on
    with the one that it was at.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        if resume is not None:
            context.fail("--resume STUDY goes without a task: the study knows it")
        return
    if resume is None:
        tasks = ", ".join(compare.list_commands(context))
        context.fail(f"name a task ({tasks}), or --config FILE, or --resume STUDY")
    from maxmargin.study import plan_in

    _go(plan_in(resume), resume, resume=True)


compare = _Compare(
    "compare",
    callback=_start,
    help=_start.__doc__,
    invoke_without_command=True,
    no_args_is_help=False,
    subcommand_metavar="TASK [OPTIONS]...",
    params=[
        Option("--resume", type=FILE, metavar="STUDY", help="Go on with a study."),
        Option("--config", type=FILE, metavar="FILE", help="Take the task, too, from a TOML file."),
    ],
)

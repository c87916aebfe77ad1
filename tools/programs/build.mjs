// dump_programs of this tree, and of another commit.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });

/** The program, built. What the tree has and git does not is part of it. */
export function buildTree() {
    return build(root);
}

/** The program of a commit, built in a folder of its own that is gone afterwards; the program is kept. */
export function buildCommit(revision) {
    const commit = git('rev-parse', '--verify', `${revision}^{commit}`).trim();
    const kept = path.join(root, 'build', 'programs', commit, 'dump_programs');
    if (existsSync(kept)) return kept;
    const tree = mkdtempSync(path.join(tmpdir(), 'programs-'));
    try {
        unpack(commit, tree);
        giveJson(commit, tree);
        const program = build(tree);
        mkdirSync(path.dirname(kept), { recursive: true });
        cpSync(program, kept);
    } finally {
        rmSync(tree, { recursive: true });
    }
    return kept;
}

/** Not a worktree of git's: git would remember it when this is interrupted. */
function unpack(commit, tree) {
    const archive = execFileSync('git', ['-C', root, 'archive', commit], { maxBuffer: 1 << 30 });
    execFileSync('tar', ['-x', '-C', tree], { input: archive });
}

function build(tree) {
    const steps = [
        ['--preset', 'native'],
        ['--build', '--preset', 'native', '--target', 'dump_programs'],
    ];
    for (const step of steps) {
        const options = { cwd: tree, encoding: 'utf8', maxBuffer: 1 << 28 };
        const { status, stdout, stderr } = spawnSync('cmake', step, options);
        if (status !== 0) throw new Error(`cmake ${step.join(' ')} failed in ${tree}\n${stdout}${stderr}`);
    }
    return path.join(tree, 'build', 'native', 'dump_programs');
}

/**
 * The first commits that have dump_programs print for people only. They get what prints from the first commit that prints for
 * tools, and, where it is older than that, what calls it.
 */
function giveJson(commit, tree) {
    const printing = ['engine/dump_programs.cpp', 'engine/testing/program_text.h', 'engine/testing/program_text.cpp'];
    const calling = ['engine/testing/planned_programs.h', 'engine/testing/planned_programs.cpp'];
    const has = (file, text) => git('show', `${commit}:${file}`).includes(text);
    if (has(printing[0], '"--json"')) return;
    take(printing, firstWith('"--json"', printing[0]), tree);
    if (!has(calling[1], 'ProgramPrinter')) take(calling, firstWith('ProgramPrinter printer_', calling[1]), tree);
}

function take(files, commit, tree) {
    for (const file of files) writeFileSync(path.join(tree, file), git('show', `${commit}:${file}`));
}

function firstWith(text, file) {
    const [first] = git('log', '--reverse', '--format=%H', `-S${text}`, '--', file).split('\n');
    if (!first) throw new Error(`no commit has '${text}' in ${file}`);
    return first;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/command_line.h"

#include <gtest/gtest.h>

namespace ecokv::ui {

using Task = CommandLine::Task;

TEST(CommandLine, withoutArgumentsOpensTheWindow) {
    const CommandLine line = parseCommandLine({});
    EXPECT_EQ(line.task, Task::Window);
    EXPECT_FALSE(drawsWithoutDisplay(line));
}

TEST(CommandLine, takesFilesToOpen) {
    EXPECT_EQ(parseCommandLine({u"a.h5"_qs, u"b.png"_qs}).paths,
              (QStringList{u"a.h5"_qs, u"b.png"_qs}));
}

TEST(CommandLine, rendersARecipeWithoutADisplayF142) {
    const CommandLine line = parseCommandLine(
        {u"--render"_qs, u"r.json"_qs, u"--out"_qs, u"figures"_qs, u"--trace"_qs, u"t.h5"_qs});
    EXPECT_EQ(line.task, Task::Render);
    EXPECT_EQ(line.recipe, u"r.json"_qs);
    EXPECT_EQ(line.outFolder, u"figures"_qs);
    EXPECT_EQ(line.trace, u"t.h5"_qs);
    EXPECT_TRUE(drawsWithoutDisplay(line));
}

TEST(CommandLine, renderNeedsAFolder) {
    const CommandLine line = parseCommandLine({u"--render"_qs, u"r.json"_qs});
    EXPECT_EQ(line.task, Task::Wrong);
    EXPECT_TRUE(line.problem.contains(u"--out"_qs));
}

TEST(CommandLine, unknownOptionsAreNamed) {
    const CommandLine line = parseCommandLine({u"--rendr"_qs});
    EXPECT_EQ(line.task, Task::Wrong);
    EXPECT_TRUE(line.problem.contains(u"rendr"_qs));
}

TEST(CommandLine, helpWinsAndTellsDeveloperOptionsOnlyWhenAsked) {
    EXPECT_EQ(parseCommandLine({u"-h"_qs, u"a.h5"_qs}).task, Task::Help);
    EXPECT_EQ(parseCommandLine({u"--help-all"_qs}).task, Task::HelpAll);
    EXPECT_TRUE(helpText(false).contains(u"Examples:"_qs));
    EXPECT_FALSE(helpText(false).contains(u"--screenshot"_qs));
    EXPECT_TRUE(helpText(true).contains(u"--screenshot"_qs));
}

} // namespace ecokv::ui
